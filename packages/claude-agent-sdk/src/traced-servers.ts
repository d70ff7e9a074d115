import { fieldsOf, type Method, withMembers } from '@agentlightning/core/adapter';

/** Runs a function within the tool call with an id. */
type WithinTool = (toolCallId: string, run: () => unknown) => unknown;

/** The MCP servers of this process, whose tools run within their tool call; the others unchanged. */
export function tracedServers(servers: unknown, withinTool: WithinTool): object {
  const entries = Object.entries(fieldsOf(servers)).map(([name, server]) => {
    const { instance } = fieldsOf(server);
    if (typeof instance !== 'object' || instance === null) return [name, server];
    return [name, { ...fieldsOf(server), instance: tracedServer(instance, withinTool) }];
  });
  return Object.fromEntries(entries);
}

function tracedServer(instance: object, withinTool: WithinTool): object {
  const connect = async (transport: { onmessage?: Method }): Promise<void> => {
    await (Reflect.get(instance, 'connect') as Method).call(instance, transport);
    const receive = transport.onmessage;
    transport.onmessage = (message, ...rest) => {
      const run = (): unknown => receive?.call(transport, message, ...rest);
      const { _meta: meta } = fieldsOf(fieldsOf(message)['params']);
      const { 'claudecode/toolUseId': toolCallId } = fieldsOf(meta);
      return typeof toolCallId === 'string' ? withinTool(toolCallId, run) : run();
    };
  };
  return withMembers(instance, { connect });
}
