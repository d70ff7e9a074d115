/** Location of the store. */
export interface StoreConfig {
  /** `sqlite:<file>` for an embedded store (relative to the configuration file), `http(s)://…` for a store server. @default 'sqlite:<dataDir>/agl.db' */
  readonly url?: string;
  /** The store server's key. @default none */
  readonly apiKey?: string;
}
