"""Bodies of requests and answers that have the fields of a model (groupflow.model), under their keys.

A field has the name of its `Key`, if it has one, and a quantity is a plain number. So a model says once what
a field is, with its bounds and its help, for files, for the command line and for the API.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from groupflow.model.fields import by_keys, keys_of, plain

_Nest = Callable[[type], Any]
"""the type in a body that stands for a model in a model"""


class Request(BaseModel):
    """A request to the API: a field that the API does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class New:
    """Annotates a model: the body has all that it needs, and becomes the model. The store keeps the body."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        form = _form(source, source.__name__, lambda inner: Annotated[inner, New()])

        def make(body: BaseModel) -> object:
            return source(**_given(source, body))

        def write(value: object) -> BaseModel:
            return form.model_construct(**by_keys(source, value))

        return core_schema.no_info_after_validator_function(
            make,
            handler.generate_schema(form),
            serialization=core_schema.plain_serializer_function_ser_schema(write),
        )


@dataclass(frozen=True)
class Change:
    """Annotates a dict: the changes of some of a model's fields, by their names.

    A field that is left out keeps its value; so does a null field, unless null is one of its values.
    """

    model: type
    but: str = ""
    """the field that cannot be changed"""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        hints = get_type_hints(self.model)
        nullable = {name for name, hint in hints.items() if type(None) in get_args(hint)}

        def changes(body: BaseModel) -> dict[str, Any]:
            given = _given(self.model, body).items()
            return {name: value for name, value in given if value is not None or name in nullable}

        form = _form(
            self.model,
            f"{self.model.__name__}Change",
            lambda inner: Annotated[dict[str, Any], Change(inner)],
            change=True,
            but=self.but,
        )
        return core_schema.no_info_after_validator_function(changes, handler.generate_schema(form))


@dataclass(frozen=True)
class View:
    """Annotates Any in an answer: the value of a model."""

    model: type

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def show(value: Any) -> Any:
            return by_keys(self.model, value) if isinstance(value, self.model) else value

        form = _form(self.model, f"{self.model.__name__}View", lambda inner: Annotated[Any, View(inner)])
        return core_schema.no_info_before_validator_function(show, handler.generate_schema(form))


def _given(model: type, body: BaseModel) -> dict[str, Any]:
    """The fields that a body has, by their names in the model."""
    return {name: getattr(body, key) for name, key in keys_of(model).items() if key in body.model_fields_set}


def _form(model: type, name: str, nest: _Nest, *, change: bool = False, but: str = "") -> Any:
    """The body's type. With `change` no field is needed, and each may be null."""
    hints, keys = get_type_hints(model, include_extras=True), keys_of(model)
    form: dict[str, Any] = {}
    for each in fields(model):
        kind = plain(hints[each.name], nest)
        default = each.default if each.default is not MISSING else ...
        form[keys[each.name]] = (kind | None, None) if change else (kind, default)
    form.pop(keys.get(but, ""), None)
    return create_model(name, __base__=Request, __doc__=model.__doc__, **form)
