"""The models that the audit trail covers, and the columns that it leaves out.

`config.database.trail` registers the models with django-auditlog.
"""

# A test fails if a model in `accounts` or `chatbots` is neither listed here nor exempted by name in
# the test. In the other apps, the audit trail covers only the models listed here.
AUDITED = (
    "accounts.Account",
    "accounts.ApiKey",
    "accounts.Invitation",
    "accounts.Membership",
    "accounts.Plan",
    "accounts.User",
    "chatbots.Appearance",
    "chatbots.Chatbot",
    "chatbots.ChatbotMember",
    "chatbots.ConversationStarter",
    "chatbots.FollowUpPrompt",
    "chatbots.GeneralSettings",
    "chatbots.Instruction",
    "chatbots.LeadSettings",
    "chatbots.LlmModel",
    "chatbots.Localization",
    "chatbots.Persona",
    "conversations.CannedReply",
    "webhooks.Endpoint",
)

# Secrets, email addresses, and columns that the service sets. Email addresses are left out because
# they must not remain in the audit trail after a person is deleted. `secret_made_by` contains an
# email address if the person who made the secret has no name.
LEFT_OUT = frozenset(
    {
        *("id", "created_at", "updated_at", "version", "erased_at", "purge_at"),
        *("password", "digest", "sealed_secret", "masked_secret"),
        *("email", "lead_notification_email", "secret_made_by"),
        *("last_login", "last_used_at", "last_failure_at", "last_failure_reason", "skipped_until"),
        *("last_success_at", "failing_since", "failures_in_a_row", "timed_out"),
        *("attempts_limit", "owner_told_at"),
    }
)
