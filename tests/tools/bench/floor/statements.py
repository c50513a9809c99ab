"""The floor's SQL. `in_dialect` in stores.py translates it into SQLite's dialect."""

KEY = """SELECT k.user_id FROM accounts_apikey k JOIN accounts_user u ON u.id = k.user_id
WHERE k.digest = %s AND k.revoked_at IS NULL AND u.is_active
AND (k.expires_at IS NULL OR k.expires_at > %s)"""

# Reads the thread columns that the history response needs. Returns no row if the caller does not
# own the account.
THREAD = """SELECT t.id, t.escalated, t.anonymous, v.email, v.phone, t.unread_messages_count
FROM conversations_thread t JOIN conversations_visitor v ON v.id = t.visitor_id
JOIN chatbots_chatbot c ON c.id = t.chatbot_id JOIN accounts_account a ON a.id = c.account_id
WHERE t.id = %s AND t.chatbot_id = %s AND a.owner_id = %s
AND t.erased_at IS NULL AND c.erased_at IS NULL"""

HISTORY = """SELECT id, message_type, system_message_type, content, agent_name, parent_message_id,
llm_model_id, reaction, source, is_edited, edited_by, edited_at, created_at, updated_at
FROM conversations_message WHERE thread_id = %s ORDER BY position DESC LIMIT 21"""

CHATBOT = """SELECT n.threads, p.bot_icon_src, p.user_icon_src, p.agent_icon_src, p.bubble_icon_src,
m.id, m.provider, m.title
FROM chatbots_chatbot c JOIN accounts_account a ON a.id = c.account_id
JOIN chatbots_appearance p ON p.chatbot_id = c.id
JOIN chatbots_generalsettings g ON g.chatbot_id = c.id
JOIN conversations_threadcount n ON n.chatbot_id = c.id
LEFT JOIN chatbots_llmmodel m ON m.is_active AND m.id =
  coalesce(g.llm_model_id, (SELECT id FROM chatbots_llmmodel WHERE is_default))
WHERE c.id = %s AND a.owner_id = %s AND c.erased_at IS NULL"""

THREADS = """SELECT t.id, v.external_id, t.title, t.anonymous, t.escalated, t.important, t.resolved,
t.archived, t.unread_messages_count, t.positive_count, t.negative_count, t.tags, t.platform_source,
t.started_at, t.updated_at, t.ended_at, v.name, v.email, v.phone
FROM conversations_thread t JOIN conversations_visitor v ON v.id = t.visitor_id
WHERE t.chatbot_id = %s AND t.erased_at IS NULL ORDER BY t.updated_at DESC, t.id DESC LIMIT 20"""

ACCOUNTS = """SELECT id, name, 'OWNER' FROM accounts_account WHERE owner_id = %s
UNION ALL SELECT a.id, a.name, s.role FROM accounts_membership s
JOIN accounts_account a ON a.id = s.account_id WHERE s.user_id = %s AND a.owner_id <> s.user_id"""

CHATBOTS = """SELECT c.id, c.account_id, c.name, c.description, c.is_active, c.created_by_user_id,
c.created_at, c.updated_at, b.role FROM chatbots_chatbot c
LEFT JOIN chatbots_chatbotmember b ON b.chatbot_id = c.id AND b.user_id = %s
WHERE c.account_id = %s AND c.erased_at IS NULL AND (%s <> 'MEMBER' OR b.id IS NOT NULL)
ORDER BY c.created_at DESC, c.id DESC"""

LEAD_SETTINGS = """SELECT l.id, l.chatbot_id, l.enable_lead_collection, l.customer_name_take,
l.customer_phone_take, l.customer_email_take, l.industry_template, l.when_to_collect_lead,
l.customer_trigger_keywords, l.booking_integration, l.booking_integration_link,
l.lead_notification, l.lead_notification_email, l.customer_form_field,
l.auto_escalate_on_lead_capture, l.created_at, l.updated_at
FROM chatbots_leadsettings l JOIN chatbots_chatbot c ON c.id = l.chatbot_id
JOIN accounts_account a ON a.id = c.account_id
WHERE l.chatbot_id = %s AND a.owner_id = %s AND c.erased_at IS NULL"""

CHANGE = """UPDATE chatbots_chatbot SET description = %s, updated_at = %s
WHERE id = %s AND erased_at IS NULL
AND account_id = (SELECT id FROM accounts_account WHERE id = %s AND owner_id = %s)
RETURNING id, name, description, is_active, created_by_user_id, created_at, updated_at"""

# Locks the thread, and reads what is needed to store the message. On SQLite, no lock is needed,
# because only one transaction can write at a time.
SEND = """SELECT t.visitor_id, t.escalated, t.anonymous, v.email, v.phone, t.last_position,
t.visitor_messages_count, c.account_id, p.messages_per_minute, p.ai_replies_per_minute,
p.monthly_messages, g.limit_messages_per_conversation, g.max_messages_per_conversation,
e.events, (SELECT count(*) FROM chatbots_followupprompt f
  WHERE f.chatbot_id = c.id AND f.esclate AND f.button_message = %s)
FROM conversations_thread t JOIN conversations_visitor v ON v.id = t.visitor_id
JOIN chatbots_chatbot c ON c.id = t.chatbot_id JOIN accounts_account a ON a.id = c.account_id
JOIN accounts_plan p ON p.id = a.plan_id
LEFT JOIN chatbots_generalsettings g ON g.chatbot_id = c.id
LEFT JOIN webhooks_endpoint e ON e.chatbot_id = c.id AND e.is_active AND a.webhooks_enabled
WHERE t.id = %s AND t.chatbot_id = %s AND a.owner_id = %s AND c.is_active
AND t.erased_at IS NULL AND c.erased_at IS NULL FOR UPDATE OF t"""

ASKED = """UPDATE conversations_thread SET last_position = last_position + 1,
visitor_messages_count = visitor_messages_count + 1, resolved = %s, ended_at = NULL,
unread_messages_count = unread_messages_count + 1, updated_at = %s WHERE id = %s
RETURNING last_position, unread_messages_count"""
ANSWERED = """UPDATE conversations_thread SET last_position = last_position + 1, updated_at = %s
WHERE id = %s RETURNING last_position"""
MESSAGE = """INSERT INTO conversations_message (id, created_at, updated_at, thread_id, position,
message_type, content, parent_message_id, llm_model_id, reply_ms, source, is_edited)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '[]', %s)"""
VISITOR = """UPDATE conversations_visitor SET total_messages = total_messages + 1,
last_seen_at = %s WHERE id = %s"""
OWED = """INSERT INTO conversations_owedreply (message_id, claim, claimed_by, claimed_until, begun)
VALUES (%s, %s, '', %s, 1)"""
PAID = "DELETE FROM conversations_owedreply WHERE message_id = %s AND claim = %s"
USAGE = """UPDATE accounts_usage SET messages = messages + 1
WHERE account_id = %s AND month = %s AND messages < %s"""

BRIEFING = """SELECT g.description, g.history_message_context, i.instruction, m.id, m.provider
FROM chatbots_generalsettings g
LEFT JOIN chatbots_instruction i ON i.chatbot_id = g.chatbot_id AND i.is_active
LEFT JOIN chatbots_llmmodel m ON m.is_active AND m.id =
  coalesce(g.llm_model_id, (SELECT id FROM chatbots_llmmodel WHERE is_default))
WHERE g.chatbot_id = %s"""
PERSONAS = """SELECT title, description, instructions FROM chatbots_persona
WHERE chatbot_id = %s AND is_active"""
SAID = """SELECT message_type, content FROM conversations_message
WHERE thread_id = %s AND position < %s AND fallback_reason IS NULL
AND message_type IN ('USER_MESSAGE', 'AI_MESSAGE', 'AGENT_MESSAGE')
ORDER BY position DESC LIMIT %s"""
