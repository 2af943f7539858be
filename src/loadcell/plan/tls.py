"""Options of a client's TLS: whom it trusts."""

from __future__ import annotations

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from loadcell.model.message import MessageCode
from loadcell.plan.files import certificate_file
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError

TLS_WITHOUT_HTTPS = MessageCode("service.tls-without-https")
TLS_CA_UNVERIFIED = MessageCode("service.ca-unverified")


class TlsOptions(Options):
    """Whom to trust of those who say that they are the service."""

    verify: bool = Field(
        default=True,
        description="Whether the server's certificate must be signed by somebody trusted, for its name.",
    )
    ca: str | None = Field(
        default=None,
        min_length=1,
        description="File (PEM) with the certificates of those who may sign. Default: the system's.",
    )
    name: str | None = Field(
        default=None,
        min_length=1,
        description="The name that the certificate must be for, and that the server is asked for (SNI). "
        "Default: the url's host.",
    )

    _certificates: str | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _finds_certificates(self, info: ValidationInfo) -> TlsOptions:
        self._certificates = None if self.ca is None else str(certificate_file(info, self.ca))
        return self

    @property
    def certificates(self) -> str | None:
        """Path of `ca`, or of the run's copy of it."""
        return self._certificates

    def check(self, url: str) -> None:
        """Raises ValueError where these options say nothing."""
        if not url.startswith("https") and self != TlsOptions():
            raise SettingError(TLS_WITHOUT_HTTPS())
        if not self.verify and self.ca is not None:
            raise SettingError(TLS_CA_UNVERIFIED())
