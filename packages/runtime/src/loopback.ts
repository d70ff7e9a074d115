/**
 * Whether a host name or address is loopback. Names that end in `.localhost` do not count: a client may resolve them
 * over the network and send keys in plain text.
 */
export function isLoopback(hostName: string): boolean {
  const name = hostName.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}
