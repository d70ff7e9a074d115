import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { addressText } from '../redaction/address-text.ts';
import { isLoopback } from './is-loopback.ts';

/** An API key and where it would be sent. */
export interface KeyDestination {
  /** The receiver, as the start of a message: `Store`, `Model endpoint`. */
  readonly receiver: string;
  readonly url: string;
  /** The name of the option that allows it. */
  readonly option: string;
}

/**
 * Refuses to send a key unencrypted to another machine.
 *
 * @throws AgentLightningError CONFIG for an `http:` URL whose host is not this machine
 */
export function assertKeyIsEncrypted({ receiver, url, option }: KeyDestination): void {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || parsed.protocol !== 'http:' || isLoopback(parsed.hostname)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${receiver} key refused for ${addressText(url)}: plain http would send it unencrypted over the network`,
    remedy: `Use https, or a tunnel that ends on this machine. On a network that you trust, allow it with \`${option}\` (for \`agl\`, AGL_ALLOW_INSECURE_KEYS=1).`,
  });
}
