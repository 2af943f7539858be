"""`http-5xx`: some requests of HTTP/1.1 are answered with an error, without the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from loadcell.faults.carried import CarriedFault
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.plan.units import Fraction
from loadcell.systems.subjects import SubjectAbilities

NOT_HTTP = MessageCode("fault.not-http", action=str)


class HttpErrorOptions(SubjectOptions, use_attribute_docstrings=True):
    """Answer and its share."""

    share: Annotated[Fraction, Field(gt=0, le=1)] = Fraction(1)
    """Probability that a request is answered with the error."""
    status: Annotated[int, Field(ge=500, le=599)] = 503
    """Status of the answer."""


class HttpError(CarriedFault[HttpErrorOptions]):
    """Answer requests with an error."""

    name = "http-5xx"
    synonyms = ("http-errors",)
    summary = "Answer a share of the requests of HTTP/1.1 with a status of 5xx"
    Options = HttpErrorOptions
    expected_errors = ("http-5",)

    @classmethod
    def misfits(cls, options: HttpErrorOptions, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        network = subjects[options.subject].network
        if network is None or not network.http:
            yield Misfit("subject", NOT_HTTP(action=cls.name))

    def effect(self) -> JsonObject:
        return {"share": float(self.options.share), "status": self.options.status}


PART = HttpError
