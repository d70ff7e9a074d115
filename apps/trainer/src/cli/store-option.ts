/** What `--store` takes. */
export const storeHelp = 'sqlite:<file>, postgres://…, or the http address of a store server';
