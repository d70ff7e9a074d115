/** Log of a server, for example a pino logger. */
export interface StoreServerLog {
  /** Successful requests. */
  debug(fields: object, message: string): void;
  /** Rejected requests. */
  info(fields: object, message: string): void;
  /** Slow requests, and clients that disconnected before the response. */
  warn(fields: object, message: string): void;
  /** Requests that failed in the server, and internal errors. */
  error(fields: object, message: string): void;
}
