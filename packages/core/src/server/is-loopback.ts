/**
 * Whether a name or address is this machine, seen from itself: what a server without a key listens on, and what it may
 * be called by. Names that end in `.localhost` are too.
 *
 * @param host - without a port; an address of version 6 with or without its brackets
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || name.endsWith('.localhost') || /^127\.[\d.]+$/.test(name);
}
