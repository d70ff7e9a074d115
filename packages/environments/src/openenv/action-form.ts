import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, objectsOf, textOf } from '@agentlightning/core/internal';
import type { EnvironmentAction, EnvironmentTool } from '../environment/environment.ts';

/** How a model acts in an environment, by the schema of its actions. */
export type ActionForm =
  /** It calls the tools that the environment lists. */
  | { readonly type: 'tools' }
  /** It writes messages, which are the value of the only required field. */
  | { readonly type: 'message'; readonly field: string }
  /** It calls a tool whose arguments are the fields of the action. */
  | { readonly type: 'fields'; readonly tool: EnvironmentTool };

/** The name of the tool for actions with several fields. */
const actName = 'act';

/** The form of actions with this JSON schema. */
export function actionForm(schema: JsonObject): ActionForm {
  const properties = fieldsOfSchema(schema);
  if ('tool_name' in properties) return { type: 'tools' };
  const required = Array.isArray(schema.required) ? (schema.required as readonly JsonValue[]) : [];
  const [field] = required;
  const definition = typeof field === 'string' ? properties[field] : undefined;
  if (required.length === 1 && typeof field === 'string' && isJsonObject(definition) && definition.type === 'string') {
    return { type: 'message', field };
  }
  const { metadata: _, ...offered } = properties;
  const parameters = { ...schema, type: 'object', properties: offered };
  const description = textOf(schema.description) ?? 'Performs an action.';
  return { type: 'fields', tool: { name: actName, description, parameters } };
}

/** The action in the form of the server; a text that says what is wrong with it. */
export function serverAction(form: ActionForm, action: EnvironmentAction): JsonObject | string {
  if (action.type === 'message') return form.type === 'message' ? { [form.field]: action.text } : 'Call a tool.';
  if (form.type === 'tools') return { type: 'call_tool', tool_name: action.name, arguments: action.arguments };
  if (form.type === 'fields' && action.name === form.tool.name) return action.arguments;
  return `There is no tool "${action.name}".`;
}

/** The tools of a response to `tools/list`. */
export function toolsOf({ result }: JsonObject): readonly EnvironmentTool[] {
  const tools = isJsonObject(result) ? objectsOf(result.tools) : [];
  return tools.map((tool) => {
    const parameters = tool.inputSchema ?? tool.input_schema;
    return {
      name: textOf(tool.name) ?? '',
      description: textOf(tool.description) ?? '',
      parameters: isJsonObject(parameters) ? parameters : { type: 'object', properties: {} },
    };
  });
}

function fieldsOfSchema({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}
