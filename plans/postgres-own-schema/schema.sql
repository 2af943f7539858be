-- The tables of a small shop, and 200,000 orders, of which a few customers have most.
CREATE TABLE customers (
    id int PRIMARY KEY,
    name text NOT NULL,
    city text
);

CREATE TABLE orders (
    id int PRIMARY KEY,
    customer_id int NOT NULL,
    status text NOT NULL,
    total numeric(10, 2) NOT NULL,
    placed_at timestamp NOT NULL
);

INSERT INTO orders
SELECT n,
       1 + (200 * power(mod(n::numeric * 7919, 200000) / 200000, 2))::int % 200,
       (ARRAY['new', 'paid', 'sent'])[1 + n % 3],
       round((n * 37 % 10000)::numeric / 100, 2),
       timestamp '2026-01-01' + n * interval '1 minute'
FROM generate_series(1, 200000) AS n;
