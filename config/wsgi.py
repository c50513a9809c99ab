"""Django as a WSGI application, which `config.rsgi` serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import resolve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
from config.runtime.processes import end_without_parent

application = get_wsgi_application()
resolve("/")  # imports all views and the admin now, not during the first request
gc.collect()
gc.freeze()  # startup objects are never freed, and scanning them would pause all requests for 0.1 s
end_without_parent()
