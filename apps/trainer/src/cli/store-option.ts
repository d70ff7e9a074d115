/** What `--store` takes. */
export const storeHelp = 'sqlite:<file>, or the http address of a store server';
