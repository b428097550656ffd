-- Where large rows stand: SQLite alone keeps them in the order of their key.
SELECT 1;
