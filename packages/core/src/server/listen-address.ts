/** Host and port of a server. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Host and port as in a URL, with brackets around an IPv6 address.
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
