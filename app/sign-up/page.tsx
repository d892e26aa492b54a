import type { Metadata } from "next"
import { redirect } from "next/navigation"
import { Link } from "@/components/link"
import { SignInLayout } from "@/components/sign-in-layout"
import { localPath } from "@/lib/sign-in/local-path"
import { currentViewer } from "@/lib/sign-in/session"
import { ProviderButtons } from "../sign-in/provider-buttons"
import { SignUpForm } from "./sign-up-form"

export const metadata: Metadata = { title: "Create account" }

export default async function SignUpPage({ searchParams }: PageProps<"/sign-up">) {
  const { callbackUrl } = await searchParams
  const path = localPath(typeof callbackUrl === "string" ? callbackUrl : undefined)
  if (await currentViewer()) redirect(path)
  return (
    <SignInLayout title="Create account">
      <SignUpForm callbackUrl={path} />
      <ProviderButtons callbackUrl={path} />
      <p className="text-muted">
        Already have an account?{" "}
        <Link href={`/sign-in?callbackUrl=${encodeURIComponent(path)}`} className="text-accent underline">
          Sign in
        </Link>
      </p>
    </SignInLayout>
  )
}
