-- A buyer who is paying by card gets no reminder.
grant select (merchant_id, livemode, invoice_id, left_at) on card_purchase to paylink_delivery;
