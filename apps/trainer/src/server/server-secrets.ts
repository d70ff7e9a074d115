/** The keys of a server, from the environment. */
export interface ServerSecrets {
  /** The key of the server; null for the one in the data directory. */
  readonly serverKey: string | null;
  /** The key of runners, with the role worker; null for none. */
  readonly workerKey: string | null;
  /** Secrets that sign the tokens of attempts; null for the one in the data directory. */
  readonly tokenSecret: string | null;
  /** The keys of a configured runtime and of its model endpoint. */
  readonly runtimeKey: string | null;
  readonly inferenceKey: string | null;
}
