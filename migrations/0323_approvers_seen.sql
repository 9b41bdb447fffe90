-- From when the signer takes the approvals of a member by a passkey or an authenticator app, as it says itself: the
-- dashboard asks by what one can approve, and says how long to wait. The signer goes by a list in its own folder.
create table approver_seen (
  member_id text not null references organization_member (id) on delete cascade,
  -- Of person_passkey or person_two_factor.
  credential_id text not null,
  counts_from timestamptz not null,
  primary key (member_id, credential_id)
);
grant select, insert, update on approver_seen to paylink_signer;
grant select on approver_seen to paylink_api;
