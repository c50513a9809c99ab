"""Language models, stored as rows so that staff can change them without a restart."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from chatbots.models.version import VersionedRow
from config.database.lengths import SHORT
from config.database.row import Row


class LlmModel(VersionedRow, Row):
    """A language model. `key_variable` names the environment variable that holds its API key."""

    OFFLINE = "offline"

    provider = models.CharField(
        max_length=50,
        help_text='Enter "offline" for the built-in model, or any other name for an '
        "OpenAI-compatible one.",
    )
    title = models.CharField(max_length=100)
    name = models.CharField("model name", max_length=SHORT, blank=True)
    base_url = models.CharField(
        "base URL",
        max_length=SHORT,
        blank=True,
        validators=[RegexValidator(r"^https?://[^\s@]+\Z", "enter an http or https URL")],
        help_text="For example http://127.0.0.1:11434/v1",
    )
    key_variable = models.CharField(
        max_length=100,
        blank=True,
        validators=[
            RegexValidator(
                r"^LLM_API_KEY(_\w+)?\Z", "must be LLM_API_KEY or begin with LLM_API_KEY_"
            )
        ],
        help_text="The environment variable that holds the API key: LLM_API_KEY or LLM_API_KEY_…",
    )
    sends_temperature = models.BooleanField(
        "send the temperature",
        default=True,
        help_text="Switch this off for a model that accepts only its default temperature.",
    )
    next_model = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        help_text="Used if this model fails or takes more than half of the remaining time. "
        "LLM_TIMEOUT limits the total time for a reply.",
    )
    is_active = models.BooleanField("active", default=True)
    is_default = models.BooleanField("default", default=False)
    from_environment = models.BooleanField(default=False, editable=False)
    last_failure_at = models.DateTimeField(null=True, editable=False)
    last_failure_reason = models.CharField(max_length=SHORT, blank=True, editable=False)
    # Counted up to `fallback.SKIPPED_AFTER`
    failures_in_a_row = models.PositiveSmallIntegerField(default=0, editable=False)
    skipped_until = models.DateTimeField(null=True, editable=False)

    content_fields = ("provider", "title", "name", "base_url", "key_variable", "sends_temperature")

    class Meta:
        verbose_name = "model"
        ordering = ["title"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"], condition=Q(is_default=True), name="one_default_model"
            ),
            models.UniqueConstraint(
                fields=["from_environment"],
                condition=Q(from_environment=True),
                name="one_model_of_the_environment",
            ),
            models.CheckConstraint(
                condition=Q(is_default=False) | Q(is_active=True),
                name="default_model_active",
                violation_error_message="the default model must be active",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def reason_to_keep(self) -> str | None:
        """Return why the model cannot be deleted, or None if it can.

        Runs one indexed query for each foreign key, no matter how many rows refer to the model.
        """
        if self.is_default:
            return "it is the default model"
        for relation in self._meta.get_fields(include_hidden=True):
            if isinstance(relation, models.ManyToOneRel):
                referring = relation.related_model._base_manager.filter(
                    **{relation.field.name: self}
                )
                if referring.exists():
                    return f"{relation.related_model._meta.verbose_name_plural} refer to it"
        return None

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete the model unless it is the default or in use. Raises ProtectedError.

        Foreign keys to LlmModel use DO_NOTHING, so Django does not read the referring rows. If
        another transaction adds a reference after `reason_to_keep` has run, the database rejects
        the deletion.
        """
        if reason := self.reason_to_keep():
            raise models.ProtectedError(reason, {self})
        return super().delete(*args, **options)

    def clean(self) -> None:
        """Require a base URL unless the model is built in, and reject cycles in `next_model`.

        Raises ValidationError.
        """
        if self.provider != self.OFFLINE and not self.base_url:
            raise ValidationError({"base_url": "a model that is not built in needs a base URL"})
        following = self.successors()
        if self.next_model_id and (not following or following[-1].next_model_id == self.pk):
            names = " -> ".join(map(str, [self, *following, self]))
            raise ValidationError({"next_model": f"a model cannot come after itself: {names}"})

    def successors(self) -> "list[LlmModel]":
        """Return the models to try after this one, in order. Stops at a cycle.

        Runs one query for each model.
        """
        following: list[LlmModel] = []
        seen, next_id = {self.pk}, self.next_model_id
        while next_id and next_id not in seen:
            seen.add(next_id)
            row = LlmModel.objects.filter(pk=next_id).first()
            next_id = row.next_model_id if row else None
            following += [row] if row else []
        return following


def effective_column(column: str, chosen: OuterRef | Subquery) -> Any:
    """Select a column of the model in use: the chosen model if it is active, or else the default.

    `chosen` is an expression for the chosen model's id. The column is NULL if the chosen model is
    not active and there is no active default model. Open point: default-model.
    """
    active = LlmModel.objects.filter(is_active=True)
    return Coalesce(
        Subquery(active.filter(pk=chosen).values(column)[:1]),
        Subquery(active.filter(is_default=True).values(column)[:1]),
    )


def effective_columns(chosen: OuterRef) -> dict[str, Any]:
    """Return the annotations `llm_id`, `llm_provider` and `llm_title` for the model in use."""
    return {f"llm_{name}": effective_column(name, chosen) for name in ("id", "provider", "title")}
