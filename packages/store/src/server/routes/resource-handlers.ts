import { specialRoutes } from '@agentlightning/core/protocol';
import { assertOwnResources } from '../access/agent-limits.ts';
import { idsOf, outputResponse, type SpecialHandlers, type StoreRouteOptions } from '../route-handler.ts';

const route = specialRoutes.getResources;

/** Reads resources. In the protocol, missing ones are null. */
export function resourceHandlers({ store }: StoreRouteOptions): Pick<SpecialHandlers, 'getResources'> {
  return {
    getResources: async (context) => {
      const [resourcesId = ''] = idsOf(context, route);
      await assertOwnResources(context, store, resourcesId);
      const [snapshot = null] = (await store.queryResources({ resourcesId, limit: 1 })).items;
      return outputResponse(context, route, snapshot);
    },
  };
}
