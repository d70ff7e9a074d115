/** An HTTP application. */
export interface HttpApplication {
  fetch(request: Request, env?: object): Response | Promise<Response>;
}

/** The applications of a project behind the one port. */
export interface ProjectApplications {
  readonly server: HttpApplication;
  readonly store: HttpApplication;
  readonly gateway: HttpApplication;
  readonly dashboard: HttpApplication;
}
