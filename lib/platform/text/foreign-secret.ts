/** The source of a pattern: how secrets of widely used services begin. */
export const foreignSecret = "(?:(?:sk|pk|rk|whsec|gh[pousr]|github_pat|glpat|hf)_|eyJ|(?:AKIA|ASIA)[A-Z0-9]{8}|AIza)"
