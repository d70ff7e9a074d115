/** Whether a host name or address is this machine, reachable by nobody else. */
export function isLoopback(hostName: string): boolean {
  const name = hostName.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}
