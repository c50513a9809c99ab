"""The "Try it" page: a chat with a bot, using its saved settings. Nothing is stored."""

from typing import Any

import orjson
from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminTextareaWidget

from accounts.admin.scope import person, with_row
from chatbots.admin.faults import show_faults
from chatbots.admin.scope import ChatbotRows
from chatbots.llm.exchange import Turn
from chatbots.llm.prompt import LONG_SYSTEM
from chatbots.models import Chatbot
from chatbots.services import trial
from config import page_limits
from config.admin.lines import TextLines
from config.admin.page import page, row_routes
from config.api.errors import TooManyRequests
from config.database.lengths import LONG
from config.page_limits import PageLimit

RATE = (20, 60)  # 20 questions in 60 seconds per person; trials do not count against quotas
REMEMBERED = 40  # number of newest messages that a trial remembers; only the page stores them


def said_before(text: str) -> list[Turn]:
    """Parse the earlier messages that the page sends back. Malformed text yields an empty list."""
    try:
        given = orjson.loads(text or "[]")
        turns = [
            Turn("user" if role == "user" else "assistant", str(content)[:LONG])
            for role, content in given
        ]
    except (orjson.JSONDecodeError, TypeError, ValueError):
        return []
    return turns[-REMEMBERED:]


class QuestionForm(forms.Form):
    """A message to the bot, as a visitor would write it."""

    question = TextLines(
        label="Message",
        max_length=LONG,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "dir": "auto"}),
    )


class TrialAdmin(ChatbotRows):
    """Adds the "Try it" page to a chatbot's pages."""

    def get_urls(self) -> list[URLPattern]:
        """Add the page's route."""
        view = require_http_methods(["GET", "POST"])(self.trial_view)
        return [*row_routes(self, **{"try": view}), *super().get_urls()]

    @with_row("change")
    def trial_view(self, request: HttpRequest, chatbot: Chatbot) -> HttpResponse:
        """Show the chat. If a question is posted, ask the model."""
        form = QuestionForm(
            request.POST if "question" in request.POST else None,
            initial={"question": request.GET.get("question", "")},
        )
        earlier = said = said_before(request.POST.get("said", ""))
        asked: dict[str, Any] = {}
        if form.is_valid():
            question = form.cleaned_data["question"]
            try:
                page_limits.take(PageLimit("trial", str(person(request).pk), RATE))
            except TooManyRequests as error:
                show_faults(form, error)
            else:
                result = trial.ask(chatbot.pk, said, question)
                asked = {
                    "question": question,
                    "result": result,
                    "system": result.system[:LONG_SYSTEM],
                    "cut_off": len(result.system) > LONG_SYSTEM,
                }
                said = [*said, Turn("user", question)]
                if not result.reply.failure:  # prompts never contain fallback messages
                    said.append(Turn("assistant", result.reply.content))
                form = QuestionForm()
        response = page(
            self,
            request,
            "admin/chatbots/trial.html",
            title=f"Try {chatbot}",
            chatbot=chatbot,
            form=form,
            earlier=earlier,
            said=orjson.dumps([[turn.role, turn.content] for turn in said]).decode(),
            **asked,
        )
        add_never_cache_headers(response)
        return response
