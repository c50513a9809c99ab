"""Create the tables for chatbots, and add the built-in model."""

import config.database.ids
import config.runtime.context
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def add_offline_model(apps, schema_editor):
    """Add the built-in model, so that bots of a new installation can reply without a network."""
    model = apps.get_model("chatbots", "LlmModel")
    model.objects.create(
        provider="offline", title="Offline demo model", is_default=True, version=1
    )
    apps.get_model("chatbots", "Version").objects.create(
        kind="llmmodel",
        row_id=model.objects.get().pk,
        number=1,
        content={
            "provider": "offline",
            "title": "Offline demo model",
            "name": "",
            "base_url": "",
            "key_variable": "",
            "sends_temperature": True,
        },
    )


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Chatbot',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('erased_at', models.DateTimeField(editable=False, null=True)),
                ('purge_at', models.DateTimeField(editable=False, null=True)),
                ('name', models.CharField(max_length=255)),
                ('description', models.CharField(blank=True, max_length=100)),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chatbots', to='accounts.account')),
                ('created_by_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-id'],
                'default_manager_name': 'objects',
                'constraints': [
                    models.UniqueConstraint(fields=('account', 'name'), name='chatbot_name_unique', violation_error_message='the account already has a chatbot with this name'),
                ],
                'indexes': [
                    models.Index(fields=['account', '-created_at', '-id'], name='chatbot_newest'),
                    models.Index(condition=models.Q(('purge_at__isnull', False)), fields=['purge_at'], name='chatbot_purge'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Appearance',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('tooltip', models.CharField(blank=True, default='', max_length=255)),
                ('welcome_message', models.TextField(blank=True, default='', max_length=65535)),
                ('input_placeholder_text', models.CharField(blank=True, default='', max_length=255)),
                ('external_link', models.CharField(blank=True, default='', max_length=255)),
                ('brand_primary_color', models.CharField(default='#2563eb', max_length=7, validators=[django.core.validators.RegexValidator('^#(?:[0-9a-fA-F]{3}){1,2}\\Z', 'enter a color such as #1a2b3c')], verbose_name='brand primary color')),
                ('brand_text_color', models.CharField(default='#ffffff', max_length=7, validators=[django.core.validators.RegexValidator('^#(?:[0-9a-fA-F]{3}){1,2}\\Z', 'enter a color such as #1a2b3c')], verbose_name='brand text color')),
                ('brand_icon_bg_color', models.CharField(default='#2563eb', max_length=7, validators=[django.core.validators.RegexValidator('^#(?:[0-9a-fA-F]{3}){1,2}\\Z', 'enter a color such as #1a2b3c')], verbose_name='brand icon background')),
                ('link_color', models.CharField(default='#1d4ed8', max_length=7, validators=[django.core.validators.RegexValidator('^#(?:[0-9a-fA-F]{3}){1,2}\\Z', 'enter a color such as #1a2b3c')], verbose_name='link color')),
                ('show_background', models.BooleanField(default=True)),
                ('watermark_brand_info_show', models.BooleanField(default=False, verbose_name='show the watermark')),
                ('hide_watermark_service', models.BooleanField(default=False, verbose_name="hide the service's watermark")),
                ('right_to_left_mode', models.BooleanField(default=False)),
                ('enable_dark_mode', models.BooleanField(default=False)),
                ('font_size', models.PositiveIntegerField(default=14)),
                ('chat_height', models.PositiveIntegerField(default=600)),
                ('icon_size', models.CharField(blank=True, default='medium', max_length=255)),
                ('icon_position', models.CharField(blank=True, default='right', max_length=255)),
                ('default_mode', models.CharField(blank=True, default='closed', max_length=255)),
                ('icon_shape', models.CharField(blank=True, default='circle', max_length=255)),
                ('watermark_brand_icon', models.CharField(blank=True, default='', max_length=255)),
                ('watermark_brand_text', models.CharField(blank=True, default='', max_length=255)),
                ('watermark_brand_link', models.CharField(blank=True, default='', max_length=255)),
                ('distance_from_bottom_desktop', models.PositiveIntegerField(default=20, verbose_name='distance from the bottom (desktop)')),
                ('horizontal_distance_desktop', models.PositiveIntegerField(default=20, verbose_name='horizontal distance (desktop)')),
                ('distance_from_bottom_mobile', models.PositiveIntegerField(default=16, verbose_name='distance from the bottom (mobile)')),
                ('horizontal_distance_mobile', models.PositiveIntegerField(default=16, verbose_name='horizontal distance (mobile)')),
                ('bot_icon_src', models.CharField(blank=True, default='', max_length=255, verbose_name='bot icon URL')),
                ('user_icon_src', models.CharField(blank=True, default='', max_length=255, verbose_name='user icon URL')),
                ('agent_icon_src', models.CharField(blank=True, default='', max_length=255, verbose_name='agent icon URL')),
                ('bubble_icon_src', models.CharField(blank=True, default='', max_length=255, verbose_name='bubble icon URL')),
                ('font_family', models.JSONField(blank=True, default=dict)),
                ('chatbot', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='%(class)s', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name_plural': 'appearances',
            },
        ),
        migrations.CreateModel(
            name='ChatbotMember',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('role', models.CharField(default='MEMBER', max_length=255)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='chatbots.chatbot')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chatbot_memberships', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['chatbot', 'user'],
                'constraints': [
                    models.UniqueConstraint(fields=('chatbot', 'user'), name='added_to_chatbot_once'),
                ],
            },
        ),
        migrations.AddField(
            model_name='chatbot',
            name='members',
            field=models.ManyToManyField(related_name='chatbots', through='chatbots.ChatbotMember', to=settings.AUTH_USER_MODEL),
        ),
        migrations.CreateModel(
            name='ConversationStarter',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('content', models.JSONField(default=dict)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversation_starters', to='chatbots.chatbot')),
            ],
            options={
                'ordering': ['created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='FollowUpPrompt',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('rank', models.PositiveIntegerField(default=0)),
                ('esclate', models.BooleanField(default=False, verbose_name='escalate')),
                ('button_title', models.CharField(blank=True, max_length=255)),
                ('button_message', models.TextField(blank=True, max_length=65535)),
                ('link_text', models.CharField(blank=True, max_length=255)),
                ('link_src', models.CharField(blank=True, max_length=255)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='follow_up_prompts', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name': 'follow-up prompt',
                'ordering': ['rank', 'created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Instruction',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('version', models.PositiveIntegerField(default=0, editable=False)),
                ('title', models.CharField(max_length=100)),
                ('instruction', models.TextField(max_length=65535)),
                ('creativity_level', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('deletable', models.BooleanField(default=True)),
                ('is_active', models.BooleanField(default=False, verbose_name='active')),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='instructions', to='chatbots.chatbot')),
            ],
            options={
                'ordering': ['created_at', 'id'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('is_active', True)), fields=('chatbot',), name='one_active_instruction'),
                ],
            },
        ),
        migrations.CreateModel(
            name='LeadSettings',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('enable_lead_collection', models.BooleanField(default=True, verbose_name='collect leads')),
                ('customer_name_take', models.BooleanField(default=True, verbose_name='ask for the name')),
                ('customer_phone_take', models.BooleanField(default=True, verbose_name='ask for the phone number')),
                ('customer_email_take', models.BooleanField(default=True, verbose_name='ask for the email address')),
                ('industry_template', models.CharField(blank=True, default='', max_length=255)),
                ('when_to_collect_lead', models.CharField(blank=True, default='', max_length=255, verbose_name='when to ask')),
                ('customer_trigger_keywords', models.TextField(blank=True, default='', max_length=65535)),
                ('booking_integration', models.BooleanField(default=False)),
                ('booking_integration_link', models.CharField(blank=True, default='', max_length=255, verbose_name='booking link')),
                ('lead_notification', models.BooleanField(default=False, verbose_name='notify by email')),
                ('lead_notification_email', models.JSONField(blank=True, default=list)),
                ('customer_form_field', models.JSONField(blank=True, default=list)),
                ('auto_escalate_on_lead_capture', models.BooleanField(default=False, verbose_name='escalate when a lead is captured')),
                ('when_user_share_details', models.CharField(blank=True, default='', max_length=255, verbose_name='sharing of contact details')),
                ('chatbot', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='%(class)s', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name_plural': 'lead settings',
            },
        ),
        migrations.CreateModel(
            name='LlmModel',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('version', models.PositiveIntegerField(default=0, editable=False)),
                ('provider', models.CharField(help_text='Enter "offline" for the built-in model, or any other name for an OpenAI-compatible one.', max_length=50)),
                ('title', models.CharField(max_length=100)),
                ('name', models.CharField(blank=True, max_length=255, verbose_name='model name')),
                ('base_url', models.CharField(blank=True, help_text='For example http://127.0.0.1:11434/v1', max_length=255, validators=[django.core.validators.RegexValidator('^https?://[^\\s@]+\\Z', 'enter an http or https URL')], verbose_name='base URL')),
                ('key_variable', models.CharField(blank=True, help_text='The environment variable that holds the API key: LLM_API_KEY or LLM_API_KEY_…', max_length=100, validators=[django.core.validators.RegexValidator('^LLM_API_KEY(_\\w+)?\\Z', 'must be LLM_API_KEY or begin with LLM_API_KEY_')])),
                ('sends_temperature', models.BooleanField(default=True, help_text='Switch this off for a model that accepts only its default temperature.', verbose_name='send the temperature')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('is_default', models.BooleanField(default=False, verbose_name='default')),
                ('from_environment', models.BooleanField(default=False, editable=False)),
                ('last_failure_at', models.DateTimeField(editable=False, null=True)),
                ('last_failure_reason', models.CharField(blank=True, editable=False, max_length=255)),
                ('failures_in_a_row', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('skipped_until', models.DateTimeField(editable=False, null=True)),
                ('next_model', models.ForeignKey(blank=True, help_text='Used if this model fails or takes more than half of the remaining time. LLM_TIMEOUT limits the total time for a reply.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chatbots.llmmodel')),
            ],
            options={
                'verbose_name': 'model',
                'ordering': ['title'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('is_default',), name='one_default_model'), models.UniqueConstraint(condition=models.Q(('from_environment', True)), fields=('from_environment',), name='one_model_of_the_environment'), models.CheckConstraint(condition=models.Q(('is_default', False), ('is_active', True), _connector='OR'), name='default_model_active', violation_error_message='the default model must be active')],
            },
        ),
        migrations.CreateModel(
            name='GeneralSettings',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('version', models.PositiveIntegerField(default=0, editable=False)),
                ('description', models.TextField(blank=True, default='', max_length=65535)),
                ('disable_smart_followup', models.BooleanField(default=False, verbose_name='disable smart follow-ups')),
                ('number_of_smart_followup_question_shown', models.PositiveIntegerField(default=3, verbose_name='number of smart follow-up questions')),
                ('enable_page_context_awareness', models.BooleanField(default=False)),
                ('history_message_context', models.PositiveIntegerField(default=10, verbose_name='number of earlier messages sent to the model')),
                ('limit_messages_per_conversation', models.BooleanField(default=False)),
                ('max_messages_per_conversation', models.PositiveIntegerField(default=50)),
                ('fallback_message', models.TextField(blank=True, default='I am sorry, I cannot answer right now. Please try again in a moment.', max_length=65535)),
                ('chat_start', models.CharField(blank=True, default='', max_length=255)),
                ('chatbot', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='%(class)s', to='chatbots.chatbot')),
                ('llm_model', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chatbots.llmmodel', verbose_name='model')),
            ],
            options={
                'verbose_name_plural': 'general settings',
            },
        ),
        migrations.CreateModel(
            name='Localization',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('locale_code', models.CharField(max_length=35, validators=[django.core.validators.RegexValidator('^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\\Z', 'enter a locale code such as en or pt-BR')])),
                ('texts', models.JSONField(blank=True, default=dict)),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='localizations', to='chatbots.chatbot')),
            ],
            options={
                'verbose_name': 'text set',
                'ordering': ['created_at', 'id'],
                'constraints': [
                    models.UniqueConstraint(fields=('chatbot', 'locale_code'), name='one_set_per_locale'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Persona',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('version', models.PositiveIntegerField(default=0, editable=False)),
                ('title', models.CharField(max_length=50)),
                ('description', models.TextField(blank=True, max_length=65535, null=True)),
                ('instructions', models.TextField(blank=True, max_length=65535)),
                ('creativity_level', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('deletable', models.BooleanField(default=True)),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('chatbot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='personas', to='chatbots.chatbot')),
            ],
            options={
                'ordering': ['created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Version',
            fields=[
                ('id', models.UUIDField(default=config.database.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('kind', models.CharField(max_length=50)),
                ('row_id', models.UUIDField()),
                ('number', models.PositiveIntegerField()),
                ('content', models.JSONField()),
                ('saved_via', models.CharField(default=config.runtime.context.current_via, max_length=255)),
                ('used', models.BooleanField(default=False)),
                ('chatbot', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='chatbots.chatbot')),
                ('saved_by', models.ForeignKey(default=config.runtime.context.current_person, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('row_id', 'number'), name='version_number_unique')],
            },
        ),
        migrations.RunPython(add_offline_model, migrations.RunPython.noop),
    ]
