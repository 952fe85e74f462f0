/** A failure of the server, or of the way to it. */

export interface Violation {
  /** The member of the request, such as `model.connector`. */
  field: string;
  description: string;
}

interface ErrorBody {
  error?: {
    message?: string;
    code?: string | null;
    param?: string | null;
    violations?: Violation[];
    documentation_url?: string;
  };
}

/** No response came. */
export const UNREACHABLE = 0;
const PERMANENT = new Set([501, 504]);

export class ApiError extends Error {
  constructor(
    message: string,
    /** The HTTP status, `UNREACHABLE` without a response. */
    readonly status: number,
    /** Why, as a word for programs: `not_found`, `conflict`. */
    readonly code = "",
    /** The only member that is wrong, if the server names one. */
    readonly param = "",
    readonly violations: readonly Violation[] = [],
    /** What an operator finds in the log. */
    readonly requestId = "",
    readonly retryAfterSeconds = 0,
    /** The whole body, for routes whose failures say more. */
    readonly body: object = {},
    /** The gateway's page about the error. */
    readonly documentationUrl = "",
  ) {
    super(message);
  }

  /** Whether the same request can succeed later. */
  get temporary(): boolean {
    return (
      this.status === UNREACHABLE ||
      this.status === 429 ||
      (this.status >= 500 && !PERMANENT.has(this.status))
    );
  }

  /** The messages about a member of the request. */
  about(field: string): string[] {
    const messages = this.violations.filter((each) => each.field === field).map((each) => each.description);
    return messages.length === 0 && this.param === field ? [this.message] : messages;
  }
}

/** Return the error that a response describes. */
export async function errorOf(response: Response): Promise<ApiError> {
  let body: ErrorBody = {};
  try {
    const content: unknown = await response.json();
    if (typeof content === "object" && content !== null) body = content;
  } catch {
    // A proxy in front of the gateway answers with a page.
  }
  const error = body.error ?? {};
  return new ApiError(
    error.message ?? `${response.status} ${response.statusText}`.trim(),
    response.status,
    error.code ?? "",
    error.param ?? "",
    error.violations ?? [],
    response.headers.get("x-request-id") ?? "",
    Number(response.headers.get("retry-after")) || 0,
    body,
    error.documentation_url ?? "",
  );
}
