SELECT recount_series('{orders.listed,subscriptions.listed}');
