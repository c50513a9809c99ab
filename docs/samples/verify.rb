# WEBHOOK_SECRET=… ruby verify.rb "$X_SIGNATURE" < body: exits 0 if genuine, else 1.

require "openssl"

# In Rack the raw body is request.body.read; in Rails it is request.raw_post.
def genuine?(body, signature, secret)
  OpenSSL.secure_compare("sha256=" + OpenSSL::HMAC.hexdigest("SHA256", secret, body), signature)
end

secret = ENV.fetch("WEBHOOK_SECRET", "")
abort "WEBHOOK_SECRET is not set" if secret.empty?
exit genuine?($stdin.binmode.read, ARGV.fetch(0, ""), secret)
