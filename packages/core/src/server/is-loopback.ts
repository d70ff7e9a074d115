/**
 * Whether a host name or address is loopback, including names that end in `.localhost`.
 *
 * @param host - without a port; an IPv6 address with or without brackets
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || name.endsWith('.localhost') || /^127\.[\d.]+$/.test(name);
}
