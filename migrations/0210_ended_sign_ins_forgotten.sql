-- Anybody who asks leaves a row: a guess at any address, a count for each network and path. Upkeep forgets them, and
-- sign-ins that have ended; of what they hold it reads no more than their age.
grant select (subject, since), delete on secret_guess to paylink_delivery;
grant select (id, last_request), delete on sign_in_rate to paylink_delivery;
grant select (id, expires_at), delete on person_session to paylink_delivery;
grant select (id, expires_at), delete on person_verification to paylink_delivery;
