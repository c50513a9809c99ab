"""Give each bot two models: `python -m tests.tools.soak.two_models URL URL`.

The first URL is the address of each bot's own model. The second URL is the address of a model that
all bots share, and that replies if a bot's own model fails.
"""

# ruff: noqa: E402, T201 - models are imported after Django is set up, and a command may print

import sys

import django

django.setup()

from chatbots.models import GeneralSettings, LlmModel


def main() -> None:
    first, second = sys.argv[1:]
    last = LlmModel.objects.create(provider="openai", title="Second", base_url=second)
    for number, settings in enumerate(GeneralSettings.objects.all()):
        settings.llm_model = LlmModel.objects.create(
            provider="openai",
            title=f"First {number}",
            name=f"first {number}",
            base_url=first,
            next_model=last,
        )
        settings.save()
    print("{}")


if __name__ == "__main__":
    main()
