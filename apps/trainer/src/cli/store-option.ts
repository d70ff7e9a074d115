/** Help text of `--store`. */
export const storeHelp = 'sqlite:<file>, postgres://…, or the http address of a store server';
