"""The wire formats of user-data settings, which are part of the lead settings.

Open point: user-data.
"""

from chatbots.models import LeadSettings
from chatbots.models.lead_settings import USER_DATA, ShareDetails
from chatbots.serializers.base import SettingsRecord, like, settings_shape
from config.api.fields import Choice

USER_DATA_FIELDS = {name: like(LeadSettings, name, required=False) for name in USER_DATA} | {
    "when_user_share_details": Choice(ShareDetails.values, required=False)
}


class UserDataRecord(SettingsRecord):
    """Which contact details a bot asks for."""

    class Meta:
        model = LeadSettings
        fields = USER_DATA


UserDataInput = settings_shape("UserDataInput", USER_DATA_FIELDS)
