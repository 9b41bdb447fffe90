-- The API's processes write which key an installation has; delivery workers compare.
revoke insert on installation_secret from paylink_delivery;
