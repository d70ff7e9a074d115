import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { addressText } from '../redaction/address-text.ts';
import { isLoopback } from './is-loopback.ts';

/** An API key and its destination. */
export interface KeyDestination {
  /** The recipient, which starts the error message: `Store`, `Model endpoint`. */
  readonly receiver: string;
  readonly url: string;
  /** The name of the option that allows it. */
  readonly option: string;
}

/**
 * Rejects sending a key unencrypted to another machine.
 *
 * @throws AgentLightningError CONFIG for an `http:` URL with a host that is not loopback
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
