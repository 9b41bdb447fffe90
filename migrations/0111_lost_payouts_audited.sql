-- The watcher's processes audit the books, and a payout that came back from the signer's journal has no approval there.
grant select on lost_payout to paylink_watcher;
