/** Where a server listens, or was to listen. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * An address as it stands in a URL, where one of version 6 is in brackets.
 *
 * @returns `127.0.0.1:4747`, `[::1]:4747`
 *
 * @example
 * ```ts
 * const url = `http://${hostAndPort({ host: '::1', port: 4747 })}`;
 * ```
 */
export function hostAndPort({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
