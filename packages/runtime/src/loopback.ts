/**
 * Whether a host name or address is this machine, reachable by nobody else. Names that end in `.localhost` do not count,
 * as they do where somebody calls this machine: a client may ask the network for them, and keys go there in plain text.
 */
export function isLoopback(hostName: string): boolean {
  const name = hostName.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}
