"""The table of periodic work."""

from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='PeriodicWork',
            fields=[
                ('name', models.CharField(max_length=50, primary_key=True, serialize=False)),
                ('due_at', models.DateTimeField()),
                ('claim', models.UUIDField(null=True)),
                ('claimed_by', models.CharField(blank=True, max_length=20)),
                ('claimed_until', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'kind of periodic work',
                'verbose_name_plural': 'kinds of periodic work',
            },
        ),
    ]
