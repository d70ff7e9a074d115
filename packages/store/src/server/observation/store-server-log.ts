/** Where a server tells what happens. A pino logger is one. */
export interface StoreServerLog {
  /** Every request that was answered well. */
  debug(fields: object, message: string): void;
  /** Requests that were refused. */
  info(fields: object, message: string): void;
  /** Requests that took long, and clients who went away before they were answered. */
  warn(fields: object, message: string): void;
  /** Requests that the server failed, and its faults. */
  error(fields: object, message: string): void;
}
