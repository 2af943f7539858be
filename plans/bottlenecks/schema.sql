-- A row that everybody changes, and rows of which each transaction changes another one.
CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO hot VALUES (1, 0);

CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL, filler text NOT NULL);
INSERT INTO accounts SELECT id, 0, repeat('x', 100) FROM generate_series(1, 100000) AS id;
