"""Plan options of a server that loadcell starts, or finds running: `server: embedded | local | external`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import psutil
from pydantic import BeforeValidator, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from loadcell.model.message import MessageCode
from loadcell.plan.files import certificate_file
from loadcell.plan.parts import FAULTS_ALLOWED, Advice, Options
from loadcell.plan.problems import SettingError
from loadcell.systems.base import SettingFacts
from loadcell.systems.shared.data_location import check_location
from loadcell.systems.shared.disk_image import Image
from loadcell.systems.shared.storage_options import StorageOptions

OPTION_NO_SETTING = MessageCode("option.no-setting", kind=str, setting=str)
OPTION_RESERVED = MessageCode("option.reserved", reason=str, setting=str)
OPTION_LINES = MessageCode("option.lines", setting=str)
OPTION_TWICE = MessageCode("option.twice", setting=str)
OPTION_NOT_RECONFIGURED = MessageCode("option.not-reconfigured")
OPTION_NOT_STARTED = MessageCode("option.not-started", option=str)
OPTION_EXTERNAL_ONLY = MessageCode("option.external-only", option=str)
OPTION_NO_LOCATION = MessageCode("option.no-location", example=str, option=str)

OPTION_EMBEDDED_BINARIES = MessageCode("option.embedded-binaries")
OPTION_TWO_BINARIES = MessageCode("option.two-binaries")
OPTION_OLD_VERSION = MessageCode("option.old-version", oldest=str, version=str)
OPTION_VERSION = MessageCode("option.version", version=str)

_VERSION = re.compile(r"[1-9]\d{0,3}(\.\d{1,4}){0,2}")


def _checked_version(value: Any) -> Any:
    """A version as a number or a text. In YAML `17.10` is a number, and equal to 17.1."""
    if isinstance(value, bool) or not isinstance(value, int | str) or not _VERSION.fullmatch(str(value)):
        raise SettingError(OPTION_VERSION(version=str(value)))
    return value


#: A version of a server: `16`, or `"16.9.0"`.
Version = Annotated[int | str, BeforeValidator(_checked_version)]

#: A value as the plan gives it.
Setting = str | int | float | bool


def checked_settings(
    settings: Mapping[str, Setting],
    *,
    canonical: Callable[[str], str],
    pattern: re.Pattern[str],
    kind: str,
    reserved: Mapping[str, str],
) -> dict[str, Setting]:
    """Settings by their canonical names, which match `pattern` (else they are not the name of `kind`).

    Raises ValueError.

    `reserved` are those that loadcell sets itself, each with the reason.
    """
    checked: dict[str, Setting] = {}
    for written, value in settings.items():
        name = canonical(written)
        if not pattern.fullmatch(name):
            raise SettingError(OPTION_NO_SETTING(setting=written, kind=kind))
        if name in reserved:
            raise SettingError(OPTION_RESERVED(setting=name, reason=reserved[name]))
        if isinstance(value, str) and ("\n" in value or "\0" in value):
            raise SettingError(OPTION_LINES(setting=name))
        if name in checked:
            raise SettingError(OPTION_TWICE(setting=name))
        checked[name] = value
    return checked


def is_secret(value: object) -> bool:
    """True if the plan takes the value from `${env:...}`: the plan's text is recorded, never the value."""
    return isinstance(value, str) and "${env:" in value


def read_back(
    effective: Mapping[str, str], planned: Mapping[str, Setting], recorded: Iterable[str]
) -> tuple[SettingFacts, ...]:
    """The settings `recorded` and those of the plan, out of those in effect, sorted by name."""
    names = sorted(name for name in {*recorded, *planned} if name in effective)
    return tuple(
        SettingFacts(
            name, planned[name] if is_secret(planned.get(name)) else effective[name], planned.get(name)
        )
        for name in names
    )


def size_in_bytes(value: object, units: Mapping[str, int], *, case_sensitive: bool = False) -> int | None:
    """Bytes of a memory setting such as `512MB`, with the server's units; None if it is none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(value))
    if match is None:
        return None
    unit = match[2] if case_sensitive else match[2].lower()
    return int(float(match[1]) * units[unit]) if unit in units else None


SslMode = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]


def memory_remarks(path: str, wanted_bytes: int | None, code: MessageCode) -> Iterator[Advice]:
    """Remark on a setting that asks for more memory than this machine has."""
    memory_bytes = psutil.virtual_memory().total
    if wanted_bytes is not None and wanted_bytes > memory_bytes:
        yield Advice(path, code(wanted_bytes=wanted_bytes, memory_bytes=memory_bytes))


class ManagedOrExternalOptions(Options):
    """Options that such servers have in common; a system narrows and describes those that differ.

    `server` is the first field, as the validators of all others depend on it.
    """

    #: options of servers that loadcell starts, and of external ones: an error with the other kind
    managed_only: ClassVar[frozenset[str]]
    external_only: ClassVar[frozenset[str]]
    #: form and kind of the names of server settings, and those that loadcell sets, each with the reason
    setting_pattern: ClassVar[re.Pattern[str]]
    setting_kind: ClassVar[str] = "a setting"
    reserved_settings: ClassVar[Mapping[str, str]]
    #: the option that says where an external server is (its field has `validate_default`), and an example of
    #: its value
    external_location: ClassVar[tuple[str, str] | None] = None
    #: the option that names a file of trusted certificates
    certificates_option: ClassVar[str] = "sslrootcert"

    server: Literal["embedded", "local", "external"] = "local"
    settings: dict[str, Setting] = Field(default_factory=dict)
    data: str | Image | None = None
    storage: StorageOptions | None = Field(
        default=None,
        description="Storage that loadcell makes for the run under the data directory (root only): "
        "`{gluster: {hosts: 3, replica: 3}}`. Not for `external`.",
    )
    run_as: str | None = None
    connect: Literal["tcp", "socket"] = Field(
        default="tcp",
        description="How the load reaches a local server: TCP on 127.0.0.1, or its Unix socket.",
    )
    keep_data: bool = Field(
        default=False,
        description="Keep the data sets at the run's end, for the next run (needs `data`, or `server: "
        "external`).",
    )
    password: str | None = Field(default=None, description="`external` only: the password, as `${env:NAME}`.")
    faults_allowed: bool | None = FAULTS_ALLOWED

    _certificates: str | None = PrivateAttr(default=None)

    @staticmethod
    def canonical_setting(name: str) -> str:
        """The name of a server setting as the server writes it."""
        return name.lower()

    @field_validator("*")
    @classmethod
    def _belongs_to_the_server(cls, value: Any, info: ValidationInfo) -> Any:
        name, server = info.field_name, info.data.get("server")
        managed_only = name in cls.managed_only or name == "storage"
        if server == "external" and managed_only and value not in (None, {}):
            if name == "settings":
                raise SettingError(OPTION_NOT_RECONFIGURED())
            raise SettingError(OPTION_NOT_STARTED(option=name))
        if server not in ("external", None) and name in cls.external_only and value is not None:
            raise SettingError(OPTION_EXTERNAL_ONLY(option=name))
        location = cls.external_location
        if server == "external" and value is None and location is not None and name == location[0]:
            raise SettingError(OPTION_NO_LOCATION(option=name, example=location[1]))
        return value

    @model_validator(mode="after")
    def _finds_certificates(self, info: ValidationInfo) -> ManagedOrExternalOptions:
        file = getattr(self, self.certificates_option, None)
        self._certificates = None if file is None else str(certificate_file(info, file))
        return self

    @property
    def external(self) -> bool:
        return self.server == "external"

    @property
    def allows_faults(self) -> bool:
        return self.faults_allowed is True

    @property
    def certificates(self) -> str | None:
        """Path of the file of trusted certificates, or of the run's copy of it."""
        return self._certificates

    @field_validator("settings")
    @classmethod
    def _settings_are_valid_names(cls, settings: dict[str, Setting]) -> dict[str, Setting]:
        return checked_settings(
            settings,
            canonical=cls.canonical_setting,
            pattern=cls.setting_pattern,
            kind=cls.setting_kind,
            reserved=cls.reserved_settings,
        )

    @model_validator(mode="after")
    def _keeps_data_in_a_place(self) -> ManagedOrExternalOptions:
        if self.server != "external":
            check_location(self.data, self.storage, keep_data=self.keep_data)
        return self


class VersionedOptions(ManagedOrExternalOptions):
    """Options of servers whose programs are packages, too; a system describes them."""

    #: the oldest version that loadcell supports
    oldest: ClassVar[tuple[int, ...]]

    version: Version | None = None
    binary: str | None = None
    binaries: str | None = None

    @field_validator("binaries", check_fields=False)
    @classmethod
    def _names_one_server(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("server") == "embedded":
            raise SettingError(OPTION_EMBEDDED_BINARIES())
        if value is not None and info.data.get("binary") is not None:
            raise SettingError(OPTION_TWO_BINARIES())
        return value

    @field_validator("version")
    @classmethod
    def _version_is_supported(cls, value: int | str | None) -> int | str | None:
        numbers = tuple(int(part) for part in str(value).split(".")) if value is not None else ()
        if numbers[: len(cls.oldest)] < cls.oldest[: len(numbers)]:
            raise SettingError(OPTION_OLD_VERSION(version=str(value), oldest=".".join(map(str, cls.oldest))))
        return value
