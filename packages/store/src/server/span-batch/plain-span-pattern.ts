/** Text that JSON writes as it is; what it holds may be read without undoing escapes. */
const plain = String.raw`[^"\\\x00-\x1f]`;
/** Text as `JSON.stringify` writes it: of the ways to escape something, none but its own. */
const text = String.raw`"${plain}*(?:\\["\\bfnrt]${plain}*)*"`;
/** Numbers that are written again as they are: no longer than what a number holds, and no exponents. */
const whole = String.raw`(?:0|-?[1-9]\d{0,14})(?![\d.eE])`;
const fraction = String.raw`-?(?:0\.(?!000000)\d{0,13}[1-9]|[1-9]\d{0,4}\.\d{0,8}[1-9])(?![\d.eE])`;
const primitive = `(?:${text}|${whole}|${fraction}|true|false)`;
const value = String.raw`(?:${primitive}|\[(?:${primitive}(?:,${primitive})*)?\])`;
/** Objects put names that are numbers first, wherever they stood. */
const name = String.raw`"(?!\d)${plain}*"`;
const attributes = String.raw`\{(?:${name}:${value}(?:,${name}:${value})*)?\}`;
const time = String.raw`(null|(?:0|[1-9]\d{0,18})(?:\.\d{1,9})?)`;
const contextOf = (spanId: string): string =>
  String.raw`(?:null|\{"trace_id":"\4","span_id":${spanId},"is_remote":false,"trace_state":\{\}\})`;

/**
 * A span as `JSON.stringify` writes what `spanToWire` makes, and other clients too that keep to the protocol's order,
 * as long as it has no events, no links and nothing that is not in the protocol. Each part can be read in one way
 * only, so that going back from where a span turns out to be otherwise takes no longer than coming there did.
 */
export const plainSpan: RegExp = new RegExp(
  [
    String.raw`\{"rollout_id":"(${plain}*)","attempt_id":"(${plain}*)",(?:"sequence_id":(null|0|[1-9]\d{0,11}),)?`,
    `"trace_id":"(${plain}+)","span_id":"(${plain}+)","parent_id":(?:null|"(${plain}*)"),"name":"(${plain}*)",`,
    String.raw`"status":\{"status_code":"(OK|UNSET|ERROR)","description":(null|${text})\},"attributes":(${attributes}),`,
    String.raw`"events":\[\],"links":\[\],"start_time":${time},"end_time":${time},`,
    // Without a parent's id, a parent says more than that.
    `"context":${contextOf(String.raw`"\5"`)},"parent":${contextOf(String.raw`"(?!")\6"`)},`,
    String.raw`"resource":\{"attributes":(${attributes}),"schema_url":(${text})\}\}`,
  ].join(''),
  'y',
);

/** An attribute of an object of such, with what stands before it. */
export const plainAttribute: RegExp = new RegExp(`[{,](${name}):${value}`, 'y');
