-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table card_purchase add constraint card_purchase_sizes
  check (greatest(octet_length(address), octet_length(asset), octet_length(id), octet_length(invoice_id),
    octet_length(merchant_id), octet_length(news), octet_length(news_of), octet_length(place),
    octet_length(provider), octet_length(status), octet_length(url)) <= 65536) not valid;
