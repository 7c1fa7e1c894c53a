/* Does nothing, successfully. Linked statically. */
int main(void)
{
    return 0;
}
