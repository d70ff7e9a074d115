import type { Store } from '@agentlightning/core';
import { isDeployment } from '@agentlightning/core/protocol';
import { GatewayError } from '../wire/gateway-error.ts';

/**
 * Checks that a model is not a deployment of the store, whose versions a gateway of runs does not have. While the store is away, the
 * model passes.
 *
 * @throws GatewayError 404 with the remedy `agl serve`
 */
export async function assertNotDeployment(store: Pick<Store, 'getRun'>, model: string): Promise<void> {
  if (!(await isDeployment(store, model))) return;
  throw new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    param: 'model',
    message: `the model "${model}" is a deployment, and this gateway serves models of runs`,
    remedy: `Send the call to the gateway of \`agl serve ${model}\`.`,
  });
}
