"""Copy the texts of one locale to another."""

from django.core.exceptions import ValidationError
from django.db import transaction

from chatbots.access import lock_chatbot
from chatbots.models import Localization
from config.api.errors import InvalidRequest


def copy_texts(source: Localization, locale_code: str) -> Localization:
    """Copy the texts stored in a set to the chatbot's set for another locale.

    Creates the target set if needed, and keeps the texts that are already stored in it.
    Raises InvalidRequest if the locale code is malformed, and ListFull if the chatbot has no room
    for a new set.
    """
    new = Localization(chatbot_id=source.chatbot_id, locale_code=locale_code)
    try:
        new.clean_fields()
    except ValidationError as error:
        raise InvalidRequest.at(["locale_code"], error.messages[0]) from None
    with transaction.atomic():
        lock_chatbot(source.chatbot_id)
        # Lock the set too, because the admin locks only the set that it saves, not the chatbot.
        sets = Localization.objects.select_for_update(no_key=True)
        target = sets.filter(chatbot=source.chatbot_id, locale_code=locale_code).first()
        if target is None:
            Localization.make_room(source.chatbot_id)
            target = new
        target.texts = source.texts | target.texts
        target.save()
    return target
