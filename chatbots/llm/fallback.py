"""Ask a language model for the next message in a conversation, and fall back to other models.

If a model fails, its `next_model` is asked. A model that failed SKIPPED_AFTER times in a row is
skipped for SKIPPED_FOR. After that, it is tried once per SKIPPED_FOR until it succeeds. Between
these attempts, it is skipped. The last model is never skipped, because there is no other model to
ask. The state is stored in the models' rows, so all processes share it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.utils import timezone

from chatbots.llm import metrics, offline, openai
from chatbots.llm.exchange import AllFailed, Failed, Model, Reply, ReplyFailed, Turn
from chatbots.models import LlmModel
from config.database.lengths import SHORT
from config.runtime.gate import waiting

SHARE = 0.5  # the share of the remaining time that each model except the last may take
SKIPPED_AFTER = 3
SKIPPED_FOR = timedelta(seconds=30)
NOTED_EVERY = timedelta(minutes=1)


def to_ask(model: LlmModel) -> list[LlmModel]:
    """Return a model and its active successors, except those that are being skipped.

    Once a model has been skipped for SKIPPED_FOR, it is returned to one caller, which tries it
    again. Runs one query for each successor, and another for each model that has failed
    SKIPPED_AFTER times in a row. The last model never needs this second query.
    """
    return _unskipped(model, _claim)


def to_try_out(model: LlmModel) -> list[LlmModel]:
    """Return the models that `to_ask` would return now, without claiming a retry.

    Runs as many queries as `to_ask`.
    """
    return _unskipped(model, QuerySet.exists)


def _unskipped(model: LlmModel, tries: Callable[["QuerySet[LlmModel]"], bool]) -> list[LlmModel]:
    if model.next_model_id is None:
        return [model]
    *models, last = [model, *(row for row in model.successors() if row.is_active)]
    over = Q(skipped_until=None) | Q(skipped_until__lte=timezone.now())
    rows = LlmModel.objects.filter(over)
    return [
        *(
            row
            for row in models
            if row.failures_in_a_row < SKIPPED_AFTER or tries(rows.filter(pk=row.pk))
        ),
        last,
    ]


def _claim(rows: "QuerySet[LlmModel]") -> bool:
    return bool(rows.update(skipped_until=timezone.now() + SKIPPED_FOR))


def ask(
    model: Model,
    turns: Sequence[Turn],
    *,
    temperature: float,
    facts: str = "",
    seconds: float | None = None,
    pauses: Sequence[float] = openai.PAUSES,
) -> Reply:
    """Return the model's reply to the last turn, within `seconds` (by default, LLM_TIMEOUT).

    `facts` is the part of the system message that may be shown to visitors; only the built-in
    model uses it. `pauses` lists the seconds to wait before each retry after a temporary failure.
    Call this outside any transaction, because it waits for the network. Raises ReplyFailed.
    """
    began, result = time.monotonic(), "failure"
    try:
        if model.provider == LlmModel.OFFLINE:
            said = offline.answer(turns[-1].content, facts)
            reply = replace(said, turns_sent=len(turns))
        else:
            with waiting():
                reply = openai.complete(
                    model,
                    turns,
                    temperature=temperature,
                    seconds=settings.LLM_TIMEOUT if seconds is None else seconds,
                    pauses=pauses,
                )
        result = "reply"
    except ReplyFailed as failure:
        metrics.FAILURES.labels(failure.kind).inc()
        raise
    finally:
        metrics.REPLY_SECONDS.labels(result).observe(time.monotonic() - began)
    return replace(reply, ms=round((time.monotonic() - began) * 1000))


def ask_in_turn(
    models: Sequence[LlmModel], turns: Sequence[Turn], *, temperature: float, facts: str = ""
) -> Reply:
    """Return the reply from the first model that gives one.

    All models share settings.LLM_TIMEOUT. Each model except the last gets SHARE of the remaining
    time, and is not retried after a temporary failure: the next model is asked instead. Raises
    AllFailed if no model replies.
    """
    failed: list[Failed] = []
    ends = time.monotonic() + settings.LLM_TIMEOUT
    for number, row in enumerate(models, 1):
        last = number == len(models)
        try:
            reply = ask(
                endpoint(row),
                turns,
                temperature=temperature,
                facts=facts,
                seconds=(ends - time.monotonic()) * (1.0 if last else SHARE),
                pauses=openai.PAUSES if last else (),
            )
        except ReplyFailed as failure:
            failed.append(Failed(row, failure.reason))
        else:
            return replace(reply, model=row, failed=tuple(failed))
    raise AllFailed(tuple(failed))


def endpoint(row: LlmModel) -> Model:
    """Return the settings needed to ask a stored model."""
    return Model(
        provider=row.provider,
        name=row.name,
        base_url=row.base_url,
        key_variable=row.key_variable,
        sends_temperature=row.sends_temperature,
    )


def note(answer: Reply) -> None:
    """Record which models failed to give a reply and which one succeeded.

    All accounts share the models' rows. To avoid contention, a success is written only if it ends
    a series of failures. Call this outside any transaction, so that each lock is released
    immediately.
    """
    for failed in answer.failed:
        note_failure(failed)
    if answer.model and answer.model.failures_in_a_row:
        LlmModel.objects.filter(pk=answer.model.pk).update(failures_in_a_row=0, skipped_until=None)


def note_failure(failed: Failed) -> None:
    """Count a model's failures up to SKIPPED_AFTER, and record at most one reason per minute."""
    rows, now = LlmModel.objects.filter(pk=failed.model.pk), timezone.now()
    last_one = When(failures_in_a_row=SKIPPED_AFTER - 1, then=Value(now + SKIPPED_FOR))
    rows.filter(failures_in_a_row__lt=SKIPPED_AFTER).update(
        failures_in_a_row=F("failures_in_a_row") + 1,
        skipped_until=Case(last_one, default=F("skipped_until")),
    )
    due = Q(last_failure_at=None) | Q(last_failure_at__lt=now - NOTED_EVERY)
    rows.filter(due).update(last_failure_at=now, last_failure_reason=failed.reason[:SHORT])
