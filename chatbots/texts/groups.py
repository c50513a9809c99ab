"""The groups in which the admin shows the interface texts."""

from chatbots.texts import NAMES

_GROUPS = {
    "Home": """
        homeTitle homeDescription addDetails startConversation starting messagesTitle
        messagesDescription noMessages conversationHistoryInfo yourConversationsTitle
        newConversationButton justNow minutesAgoFormat hoursAgoFormat poweredByLabel
    """,
    "Chat": """
        botLabel youLabel agentLabel escalateConfirmation escalateDescription yesContinue cancel
        switchedToHuman startNewConversation maxMessagesTitle maxMessagesDescription
        inputDisabledPlaceholder closeChatLabel openChatLabel chatBubbleAlt closeTooltipLabel
        conversationExportTitle dateLabel threadIdLabel notAvailable backLabel
        openExternalLinkLabel moreOptionsLabel refreshChat downloadMenuLabel messagesMenuLabel
        accountMenuLabel collapseChatLabel expandChatLabel closeChatWindowLabel
        startNewConversationLabel conversationEnded sendMessageLabel bookingPageTitle
        escalatedToHumanAgent returnedToAi helpfulFeedbackLabel notHelpfulFeedbackLabel threadEnded
    """,
    "Lead form": """
        leadFormTitle leadFormDescription formHeading formSubmittedMessage continueButton
        submittingText nameFieldPlaceholder emailFieldPlaceholder phoneFieldPlaceholder skipButton
    """,
    "Errors and connection": """
        connected disconnected connecting disconnecting reconnect connectionLostReconnecting
        bookingPageLoadError fieldRequired retryButton passwordMinLength passwordsMismatch
    """,
}
_PLACED = {name: group for group, names in _GROUPS.items() for name in names.split()}
REST = "Account"  # the remaining texts are about the visitor's account

GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(name for name in NAMES if _PLACED.get(name, REST) == group)
    for group in (*_GROUPS, REST)
}
