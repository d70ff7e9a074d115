import { AgentLightningError } from '@agentlightning/core';
import type { ListenAddress } from '@agentlightning/core/protocol';

/**
 * The address of `--metrics`: a port of loopback, or `host:port`.
 *
 * @throws AgentLightningError CONFIG for anything else
 */
export function metricsAddress(text: string): ListenAddress {
  const [, host = '127.0.0.1', digits = ''] = /^(?:\[?([^\]]+)\]?:)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== '' && port <= 65_535) return { host, port };
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid address of --metrics: ${text}`,
    remedy: 'Pass a port such as 9464, or host:port such as 0.0.0.0:9464.',
  });
}
